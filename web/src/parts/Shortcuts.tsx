// The keys of the keyboard, and the list of them. Keys in a field are text, and keys with a modifier belong to the browser.
import { useLocation } from "preact-iso"
import { useEffect, useRef, useState } from "preact/hooks"
import { areOn, pages, patience, switchKeys } from "../data/Shortcuts.ts"
import { words } from "../words.ts"
import { Dialog } from "./Dialog.tsx"

const text = words.shortcuts

const isWriting = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.closest("input, textarea, select, dialog") !== null

/** The first link of each row. */
const rows = () =>
  [...document.querySelectorAll<HTMLElement>("main tbody tr")].flatMap((row) => row.querySelector("a") ?? [])

const moveRow = (by: 1 | -1) => {
  const links = rows()
  const present = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement) === true)
  const next = present === -1 && by === -1 ? links.length - 1 : present + by
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus()
}

const focusSearch = () => document.querySelector<HTMLInputElement>("#search")?.focus()

const togglePause = () => document.querySelector<HTMLElement>("[data-key=p]")?.click()

export const Shortcuts = () => {
  const { route } = useLocation()
  const [isOpen, setOpen] = useState(false)
  const [isOn, setOn] = useState(areOn)
  const wentAt = useRef(-Infinity)
  const actions: Readonly<Record<string, () => void>> = {
    "/": focusSearch,
    "?": () => setOpen(true),
    g: () => (wentAt.current = performance.now()),
    j: () => moveRow(1),
    k: () => moveRow(-1),
    p: togglePause
  }
  useEffect(() => {
    if (!isOn) return
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return
      const page = performance.now() - wentAt.current < patience ? pages[event.key] : undefined
      wentAt.current = -Infinity
      const action = page === undefined ? actions[event.key] : () => route(page)
      if (action === undefined) return
      event.preventDefault()
      action()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [isOn, route])
  const onSwitch = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    switchKeys(currentTarget.checked)
    setOn(currentTarget.checked)
  }
  return (
    <>
      <button
        class="btn s hide"
        type="button"
        aria-label={text.button}
        title={text.button}
        onClick={() => setOpen(true)}
      >
        ?
      </button>
      {isOpen && (
        <Dialog title={text.title} onClose={() => setOpen(false)}>
          <label class="check">
            <input type="checkbox" checked={isOn} onChange={onSwitch} />
            <span>{text.on}</span>
          </label>
          <dl class="kv">
            {text.keys.map(([name, what]) => (
              <>
                <dt key={name}>
                  <kbd>{name}</kbd>
                </dt>
                <dd>{what}</dd>
              </>
            ))}
          </dl>
          <div class="do">
            <button class="btn" type="button" autofocus onClick={() => setOpen(false)}>
              {words.confirm.close}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
