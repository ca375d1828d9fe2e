// A form that does nothing before somebody has seen a dry run of what stands in it; whatever is changed needs one anew.
import { newId } from "./decision-sending.js";
import { useRef, useState } from "./ui.js";

export const DRY_RUN = "dry-run"; // the value of the button that asks for one

// `dryRun()` gives what it found; `submit(headers)` does what was seen; `tell` hears what was refused, and null before each try.
export const useDryRunFirst = ({ dryRun, submit, tell }) => {
  const [found, setFound] = useState(null); // by the dry run of what stands there
  const [busy, setBusy] = useState(false);
  const attempt = useRef(newId()); // sent again after a lost connection, it finds what was done already
  const version = useRef(0);
  const changed = () => {
    attempt.current = newId(); // something else is done as another thing
    version.current += 1;
    setFound(null);
  };
  const rehearse = async () => {
    const asked = version.current;
    const told = await dryRun();
    if (asked === version.current) setFound(told); // else something was changed meanwhile
  };
  const send = async (event) => {
    event.preventDefault();
    const seen = found && event.submitter?.value !== DRY_RUN;
    tell(null);
    setBusy(true);
    try {
      await (seen ? submit({ "Idempotency-Key": attempt.current }) : rehearse());
    } catch (error) {
      tell(error);
    }
    setBusy(false);
  };
  return { found, busy, changed, send };
};
