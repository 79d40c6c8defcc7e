// Sets the theme before the first paint. It is a script file of its own, because the page may not contain inline scripts.
import { applyTheme } from "./data/Theme.ts"

applyTheme()
