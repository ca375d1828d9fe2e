"""The columns of databases and screening tools: what each calls them, and which keep their own name."""

import io
from pathlib import Path
from typing import Any

import pytest

from tamis_review.intake.delimited import read_delimited, write_csv
from tamis_review.intake.notes import Notes
from tamis_schemas.records.item import shown_fields

PATH = Path("export.csv")


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (  # Scopus
            "Authors,Title,Year,Source title,DOI,Abstract,PubMed ID,Document Type,Source,EID",
            "Bo G.; Li M.,t,2023,Walks,10.1/w,[No abstract available],12,Review,Scopus,2-s2",
            {"authors": ["Bo G.", "Li M."], "title": "t", "year": 2023, "journal": "Walks", "doi": "10.1/w"}
            | {"pmid": "12", "type": "Review"},
        ),
        (  # Embase.com
            "Title,Author Names,Source,Source title,Publication Year,Author Keywords,Emtree Medical Index Terms,"
            "Article Language,PUI,Embase Link",
            "t,Bo G.,Walks (2024) 15:1 Article Number: 40. Date of Publication: 1 Dec 2024 and more,Walks,2024,,"
            '"walk, night",English,L20,https://embase.example/L20',
            {"title": "t", "authors": ["Bo G."], "year": 2024, "journal": "Walks", "keywords": ["walk", "night"]}
            | {"language": "English", "url": "https://embase.example/L20"},
        ),
        (  # Web of Science, with the names in full
            "Publication Type,Authors,Article Title,Source Title,Language,Document Type,Author Keywords,Abstract,"
            "Publication Year,DOI,DOI Link,Pubmed Id,UT (Unique WOS ID)",
            'J,"Bo, G; Li, M",t,WALKS,English,Article,walk; night,a,2020,10.1/w,https://doi.example/w,12,WOS:1',
            {"title": "t", "abstract": "a", "authors": ["Bo, G", "Li, M"], "year": 2020, "journal": "WALKS"}
            | {"keywords": ["walk", "night"], "type": "Article", "language": "English", "doi": "10.1/w", "pmid": "12"}
            | {"url": "https://doi.example/w"},
        ),
        (  # IEEE Xplore
            "Document Title,Authors,Publication Title,Date Added To Xplore,Publication Year,Abstract,DOI,PDF Link,"
            "Author Keywords,IEEE Terms,Document Identifier",
            "t,G. Bo; M. Li,Walks,1 Jan 2020,2019,a,10.1/w,https://ieee.example/1,,Walk;Night,IEEE Conferences",
            {"title": "t", "abstract": "a", "authors": ["G. Bo", "M. Li"], "year": 2019, "journal": "Walks"}
            | {"keywords": ["Walk", "Night"], "type": "IEEE Conferences", "doi": "10.1/w"}
            | {"url": "https://ieee.example/1"},
        ),
        (  # PubMed
            "PMID,Title,Authors,Citation,First Author,Journal/Book,Publication Year,Create Date,DOI",
            '12,t,"Bo G, Li M.",Walks. 2017;7(7):6.,Bo G,Walks,2017,2017/07/08,10.1/w',
            {
                "title": "t",
                "authors": ["Bo G", "Li M"],
                "year": 2017,
                "journal": "Walks",
                "pmid": "12",
                "doi": "10.1/w",
            },
        ),
        (  # Cochrane
            "Cochrane Review ID,Author(s),Title,Source,Year,Abstract,Keywords,DOI,URL",
            'CD1,"Bo, G; Li, M",t,Reviews of Walks,2020,a,Walk; Night,10.1/w,http://cochrane.example/1',
            {"title": "t", "abstract": "a", "authors": ["Bo, G", "Li, M"], "year": 2020, "journal": "Reviews of Walks"}
            | {"keywords": ["Walk", "Night"], "doi": "10.1/w", "url": "http://cochrane.example/1"},
        ),
        (  # Cochrane's trials
            "Cochrane Review ID,Author(s),Title,Source,Year,Abstract,Issue,Publisher,ISSN,Keywords,DOI,URL",
            '"EMBASE 36,PUBMED 21314913",Bo G,t,Walks,2020,a,2,P,1,Walk,10.1/w,http://cochrane.example/1',
            {"title": "t", "abstract": "a", "authors": ["Bo G"], "year": 2020, "journal": "Walks", "pmid": "21314913"}
            | {"keywords": ["Walk"], "doi": "10.1/w", "url": "http://cochrane.example/1"},
        ),
        (  # ProQuest
            "Title,Abstract,StoreId,Authors,documentType,language,pubdate,pubtitle,year,DocumentURL,identifierKeywords,"
            "Database",
            't,a,99,"Bo, G; Li, M",Article,English,Mar 2020,Walks,2020,https://proquest.example/99,Walk,ERIC',
            {"title": "t", "abstract": "a", "authors": ["Bo, G", "Li, M"], "year": 2020, "journal": "Walks"}
            | {"keywords": ["Walk"], "type": "Article", "language": "English", "url": "https://proquest.example/99"},
        ),
        (  # ClinicalTrials.gov
            "NCT Number,Study Title,Study URL,Brief Summary,Conditions,Study Type,First Posted",
            "NCT01234567,t,https://trials.example/1,a,Walk|Night,INTERVENTIONAL,2019-03-01",
            {"title": "t", "abstract": "a", "year": 2019, "keywords": ["Walk", "Night"], "type": "INTERVENTIONAL"}
            | {"nct_id": "NCT01234567", "url": "https://trials.example/1"},
        ),
        (  # EBSCO's newer pages
            "an,longDBName,title,abstract,contributors,docTypes,publicationDate,source,subjects,plink,doi",
            't,CINAHL Plus,t,a,"Bo, G; Li, M",Article,20190301,Walks,Walk; Night,https://ebsco.example/1,10.1/w',
            {"title": "t", "abstract": "a", "authors": ["Bo, G", "Li, M"], "year": 2019, "journal": "Walks"}
            | {"keywords": ["Walk", "Night"], "type": "Article", "doi": "10.1/w", "url": "https://ebsco.example/1"},
        ),
        (  # Covidence
            "Title,Authors,Abstract,Published Year,Published Month,Journal,DOI,Covidence #,Study,Notes,Tags",
            't,"Bo, G; Li, M",a,2020,3,Walks,10.1/w,#7,Bo 2020,n,x',
            {"title": "t", "abstract": "a", "authors": ["Bo, G", "Li, M"], "year": 2020, "journal": "Walks"}
            | {"doi": "10.1/w"},
        ),
        (  # Rayyan
            "key,title,year,month,journal,authors,url,language,abstract,notes,doi,keywords,pubmed_id",
            'rayyan-1,t,2020,3,Walks,Bo G and Li M,https://w.example,eng,a,"RAYYAN-INCLUSION: {""G""=>""Included""}",'
            "10.1/w,walk,12",
            {"title": "t", "abstract": "a", "authors": ["Bo G and Li M"], "year": 2020, "journal": "Walks"}
            | {"keywords": ["walk"], "language": "eng", "doi": "10.1/w", "pmid": "12", "url": "https://w.example"},
        ),
        (  # ASReview
            "record_id,title,abstract,authors,keywords,year,doi,included,asreview_ranking",
            '4,t,a,"Bo, G",walk,2020,10.1/w,1,2',
            {"title": "t", "abstract": "a", "authors": ["Bo, G"], "year": 2020, "keywords": ["walk"], "doi": "10.1/w"},
        ),
        (  # Zotero
            "Key,Item Type,Publication Year,Author,Title,Publication Title,DOI,Url,Abstract Note,Date,Language,"
            "Manual Tags",
            'AB12,journalArticle,2020,"Bo, G; Li, M",t,Walks,10.1/w,https://w.example,a,2020-03,en,walk; night',
            {"title": "t", "abstract": "a", "authors": ["Bo, G", "Li, M"], "year": 2020, "journal": "Walks"}
            | {"keywords": ["walk", "night"], "type": "journalArticle", "language": "en", "doi": "10.1/w"}
            | {"url": "https://w.example"},
        ),
        (  # a list of repositories, where a program wrote its word for nothing
            "author,title,abstract,date,search_term",
            "gil,walks,None,2020,walk",
            {"title": "walks", "authors": ["gil"], "year": 2020},
        ),
    ],
)
def test_the_columns_of_databases_and_tools_are_known(header: str, row: str, expected: dict[str, Any]) -> None:
    text = f"{header}\n{row}\n"
    (record,) = read_delimited(text, Notes(PATH, strict=True))
    assert shown_fields(record) == expected
    assert written([record]) == text


def test_a_column_that_stands_twice_is_numbered_and_written_again_under_its_name() -> None:
    text = "Title,Notes,notes,Notes,Notes_2,DOI,DOI\nt,1,2,3,4,,10.1/w\nu,,,5,,10.1/x,10.1/y\n"
    first, second = records = read_delimited(text, Notes(PATH, strict=True))
    assert {name: value for name, value in first.items() if "otes" in name} == {
        "_Notes": "1",
        "_notes_3": "2",
        "_Notes_4": "3",
        "_Notes_2": "4",
    }
    assert (first["doi"], second["doi"], second["_DOI_2"]) == ("10.1/w", "10.1/x", "10.1/y")
    assert written(records) == text


@pytest.mark.parametrize("name", ["source", "line", "Source"])
def test_a_column_whose_name_tamis_uses_itself_is_kept(name: str) -> None:
    text = f"title,{name}\nt,Scopus\n"
    (record,) = read_delimited(text, Notes(PATH, strict=True))
    assert record["_line"] == 2
    assert "Scopus" in (record.get(f"_{name}"), record.get(f"__{name}"))
    assert written([record]) == text


def written(records: list[dict[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    write_csv(records, stream)
    return stream.getvalue()
