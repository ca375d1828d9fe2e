# One image for all of Tamis' own services: what it does is the command it is started with.
# Where `dist/wheels` holds wheels (`make wheels`), nothing is fetched from a network while it is built.
FROM python:3.11.13-slim-bookworm AS build
WORKDIR /build
COPY constraints.txt dist/wheel[s] wheels/
COPY pyproject.toml hatch_build.py README.md LICENSE constraints.txt ./
COPY schemas schemas
COPY producer producer
COPY worker worker
COPY review review
COPY cli cli
RUN python3 -m venv /opt/tamis \
    && if ls wheels/*.whl > /dev/null 2>&1; then \
         /opt/tamis/bin/pip install --quiet --no-cache-dir --no-index --find-links wheels --constraint constraints.txt \
           'tamis[worker,http,order,telemetry]'; \
       else \
         /opt/tamis/bin/pip install --quiet --no-cache-dir --constraint constraints.txt '.[worker,http,order,telemetry]'; \
       fi

FROM python:3.11.13-slim-bookworm
RUN groupadd --gid 10001 tamis \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/tamis --shell /usr/sbin/nologin tamis \
    && install -d -o tamis -g tamis -m 0700 /var/lib/tamis
COPY --from=build /opt/tamis /opt/tamis
ENV PATH=/opt/tamis/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 TAMIS_HOME=/var/lib/tamis
USER 10001:10001
WORKDIR /var/lib/tamis
STOPSIGNAL SIGTERM
CMD ["tamis", "--help"]
