// The third step of a new review: which model is asked, how, and how people read what it says.
import { MODES } from "./run-mode.js";
import { stagesOf } from "./submission-stages.js";
import { at, make } from "./words.js";

const value = (id) => at(id).value.trim();

const steering = () => {
  const given = { reasoning_effort: value("effort"), tier: value("tier"), tier_fallback: value("tier-fallback") };
  return Object.fromEntries(Object.entries(given).filter(([, said]) => said));
};

const panel = () => {
  const models = value("panel").split(",").map((model) => model.trim()).filter(Boolean);
  if (!models.length) return null;
  return { models, ...(value("policy") && { policy: value("policy") }) };
};

// What is asked, as the gateway takes it; the criteria come from their own step.
export const termsOf = (criteria) => {
  const several = panel();
  return {
    operation: {
      operation: "inclusion",
      criteria,
      unclear: value("unclear"),
      unverified: value("unverified"),
      ...(several && { panel: several }),
      ...(at("graded").checked && { graded: true }),
      ...(value("examples-from") && { examples_from: value("examples-from") }),
    },
    initial_filter: at("initial-filter").checked,
    keep_duplicates: at("keep-duplicates").checked,
    use_cache: !at("no-cache").checked,
    priority: value("priority"),
    model: value("model") || null,
    max_cost: value("max-cost") || null,
    steering: steering(),
    strict: at("strict").checked,
    ...(value("updates") && { updates: value("updates") }),
    ...(value("review-title") && { review: value("review-title") }),
    ...stagesOf(),
  };
};

// How people read it: offered to whoever may set it.
export const offerModes = (may) => {
  at("mode-field").hidden = !may;
  const choice = at("mode");
  choice.replaceChildren(...Object.entries(MODES).map(([mode, [name]]) => Object.assign(make("option", "", name), { value: mode })));
  const hides = () => { at("mode-hides").textContent = MODES[choice.value][1]; };
  choice.addEventListener("change", hides);
  hides();
};
