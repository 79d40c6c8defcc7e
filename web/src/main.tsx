// The entry point of the page.
import { render } from "preact"
import { App } from "./App.tsx"
import { watchSession } from "./data/Session.ts"

watchSession()
const root = document.getElementById("console")
if (root !== null) render(<App />, root)
