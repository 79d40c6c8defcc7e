// The entry point of the page.
import { render } from "preact"
import { App } from "./App.tsx"
import { watchSession } from "./data/Session.ts"
import { isSupported } from "./data/Support.ts"

const root = document.getElementById("console")
// In other browsers, `theme.ts` has said what to use instead.
if (root !== null && isSupported()) {
  watchSession()
  render(<App />, root)
}
