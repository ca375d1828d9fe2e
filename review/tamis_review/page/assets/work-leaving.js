// Whoever signs out or closes the tab while decisions wait to be sent is told so.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";
import { at } from "./words.js";

let going = false; // told already, and gone on

const pending = ({ waiting, refused }) => waiting.length + refused.length;

// [how many wait while somebody signs out, else 0; its setter]
export const useLeaving = (queue) => {
  const [leaving, setLeaving] = useState(0);
  useEffect(() => {
    const closing = (event) => {
      if (pending(queue.state()) && !going) event.preventDefault();
    };
    const signingOut = (event) => {
      if (!event.target.closest("#sign-out") || !pending(queue.state()) || going) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      setLeaving(pending(queue.state()));
    };
    addEventListener("beforeunload", closing);
    addEventListener("click", signingOut, { capture: true });
    return () => {
      removeEventListener("beforeunload", closing);
      removeEventListener("click", signingOut, { capture: true });
    };
  }, [queue]);
  return [leaving, setLeaving];
};

export const Leaving = ({ count, stay }) => {
  const dialog = useRef();
  useLayoutEffect(() => dialog.current.showModal(), []);
  const leave = () => {
    going = true;
    at("sign-out").click();
  };
  return html`<dialog ref=${dialog} onClose=${stay} aria-labelledby="leaving-text">
    <p id="leaving-text">${count === 1 ? "1 decision is" : `${count} decisions are`} not in the ledger yet. This browser keeps unsent decisions, and sends them when you sign in with the same key and open this view again.</p>
    <p class="actions"><button type="button" class="main" onClick=${() => dialog.current.close()}>Stay</button><button type="button" onClick=${leave}>Sign out</button></p>
  </dialog>`;
};
