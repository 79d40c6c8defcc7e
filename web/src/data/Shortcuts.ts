// Single keys of the keyboard. A person may switch them off, which this browser remembers: the choice is no secret.
const key = "effect-relayer.keys"

export const areOn = (): boolean => {
  try {
    return localStorage.getItem(key) !== "off"
  } catch {
    return true
  }
}

export const switchKeys = (isOn: boolean): void => {
  try {
    if (isOn) localStorage.removeItem(key)
    else localStorage.setItem(key, "off")
  } catch {
    // A browser that forbids storage keeps the keys on.
  }
}

/** Pages by the second key after `g`. */
export const pages: Readonly<Record<string, string>> = {
  o: "/console/",
  r: "/console/relayers",
  t: "/console/transactions",
  w: "/console/webhooks",
  e: "/console/events",
  a: "/console/audit"
}

/** Milliseconds between the two keys of a page. */
export const patience = 1_000
