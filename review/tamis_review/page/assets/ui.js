// The library of the page's views, in one place: elements are written as templates, and drawn anew where a state changes.
export { html, render, useCallback, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "./htm-preact.js";
