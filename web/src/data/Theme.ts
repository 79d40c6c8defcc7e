// The theme of the page: the system's, unless this browser has chosen one. The choice is a preference, not a secret.
export type Theme = "light" | "dark"

const key = "effect-relayer.theme"

const dark = () => matchMedia("(prefers-color-scheme: dark)")

const chosen = (): Theme | undefined => {
  try {
    const value = localStorage.getItem(key)
    return value === "light" || value === "dark" ? value : undefined
  } catch {
    return undefined
  }
}

const present = (): Theme => chosen() ?? (dark().matches ? "dark" : "light")

/** Follows the system until this browser chooses a theme. */
export const applyTheme = () => {
  const apply = () => (document.documentElement.dataset["theme"] = present())
  apply()
  dark().addEventListener("change", apply)
}

export const switchTheme = () => {
  const next: Theme = present() === "dark" ? "light" : "dark"
  document.documentElement.dataset["theme"] = next
  try {
    localStorage.setItem(key, next)
  } catch {
    // A browser that forbids storage keeps the theme until the page is closed.
  }
}
