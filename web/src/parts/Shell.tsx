// The frame of every page: the navigation, which is a drawer on narrow screens, the head and the content.
import type { ComponentChildren } from "preact"
import { useLocation } from "preact-iso"
import { useEffect, useState } from "preact/hooks"
import { switchTheme } from "../data/Theme.ts"
import { words } from "../words.ts"
import { Icon } from "./Icon.tsx"
import type { IconName } from "./Icon.tsx"

export interface Entry {
  readonly href: string
  readonly icon: IconName
  readonly label: string
}

interface Props {
  /** The main pages, and those below the heading "Settings". Only pages that this session may open. */
  readonly main: ReadonlyArray<Entry>
  readonly settings: ReadonlyArray<Entry>
  readonly version: string
  /** Right side of the head. */
  readonly head?: ComponentChildren
  readonly search?: ComponentChildren
  readonly children: ComponentChildren
}

const isCurrent = (path: string, href: string) =>
  href === "/console/" ? path === href || path === "/console" : path === href || path.startsWith(`${href}/`)

const Entries = ({ entries }: { readonly entries: ReadonlyArray<Entry> }) => {
  const { path } = useLocation()
  return entries.map(({ href, icon, label }) => (
    <a key={href} href={href} aria-current={isCurrent(path, href) ? "page" : undefined}>
      <Icon name={icon} />
      {label}
    </a>
  ))
}

export const Shell = ({ main, settings, version, head, search, children }: Props) => {
  const { url } = useLocation()
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [url])
  return (
    <div class={isOpen ? "app open" : "app"}>
      <a class="skip" href="#content">
        {words.toContent}
      </a>
      <nav class="side" id="navigation" aria-label={words.mainNavigation}>
        <div class="brand">
          <Icon name="rel" size={18} />
          {words.product}
        </div>
        <Entries entries={main} />
        {settings.length > 0 && <h2>{words.settings}</h2>}
        <Entries entries={settings} />
        <div class="foot">
          {version}
          <br />
          <a class="l" href="/docs" target="_blank" rel="noopener">
            {words.apiReference}
          </a>
        </div>
      </nav>
      <div class="page">
        <header class="top">
          <button
            class="btn s burger"
            type="button"
            aria-label={words.menu}
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name="menu" />
          </button>
          {search}
          <div class="r">
            {head}
            <button
              class="btn s"
              type="button"
              aria-label={words.switchTheme}
              title={words.switchTheme}
              onClick={switchTheme}
            >
              <Icon name="sun" />
            </button>
          </div>
        </header>
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
    </div>
  )
}
