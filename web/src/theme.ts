// Runs before the first paint: sets the theme, and says what to do in a browser without what the console needs. It is a script file of
// its own, because the page may not contain inline scripts.
import { isSupported, showUnsupported } from "./data/Support.ts"
import { applyTheme } from "./data/Theme.ts"

applyTheme()
if (!isSupported()) addEventListener("DOMContentLoaded", showUnsupported)
