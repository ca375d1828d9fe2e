// The report's page: facts and rows stand in it.
(() => {
  const said = (id) => JSON.parse(document.getElementById(id).textContent);
  decisionTable(said("facts"), said("records"));
  document.documentElement.dataset.ready = "true";
})();
