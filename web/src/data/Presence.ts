// Whether a person uses the page. Requests that the page makes by itself do not prolong a session.

/** Milliseconds after an input in which a request counts as the person's. */
const attention = 5_000

/** Milliseconds after the last input from which live data is asked for less often. */
const away = 60_000

/** Loading a page is what a person does. */
let last = performance.now()

const note = () => (last = performance.now())

for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, note, { capture: true, passive: true })

export const isPersonal = (): boolean => performance.now() - last < attention

export const isAway = (): boolean => performance.now() - last > away
