// The head of a page: where it is, its title, and its actions.
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { words } from "../words.ts"

interface Crumb {
  readonly href: string
  readonly label: string
}

interface Props {
  /** Plain text, for the title of the window. */
  readonly title: string
  readonly heading?: ComponentChildren
  readonly crumbs?: ReadonlyArray<Crumb>
  readonly sub?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

export const Page = ({ title, heading, crumbs = [], sub, actions, children }: Props) => {
  useEffect(() => {
    document.title = `${title} – ${words.product}`
  }, [title])
  return (
    <>
      {crumbs.length > 0 && (
        <nav class="crumb" aria-label={words.pages.path}>
          {crumbs.map(({ href, label }) => (
            <span key={href}>
              <a class="l" href={href}>
                {label}
              </a>{" "}
              /
            </span>
          ))}
          <bdi>{title}</bdi>
        </nav>
      )}
      <div class="hd">
        <div>
          <h1>{heading ?? <bdi>{title}</bdi>}</h1>
          {sub !== undefined && <div class="sub">{sub}</div>}
        </div>
        {actions !== undefined && <div class="act">{actions}</div>}
      </div>
      {children}
    </>
  )
}

export interface Tab {
  readonly href: string
  readonly label: string
  readonly count?: number
  readonly isCurrent: boolean
}

export const Tabs = ({ label, tabs }: { readonly label: string; readonly tabs: ReadonlyArray<Tab> }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ href, label, count, isCurrent }) => (
      <a key={href} href={href} aria-current={isCurrent ? "page" : undefined}>
        {label}
        {count !== undefined && count > 0 && <span class="n off">{count}</span>}
      </a>
    ))}
  </nav>
)

/** Names and values. A value that is absent is not listed. */
export const Facts = ({
  facts
}: {
  readonly facts: ReadonlyArray<readonly [name: ComponentChildren, value: ComponentChildren]>
}) => (
  <dl class="kv">
    {facts
      .filter(([, value]) => value !== undefined && value !== null && value !== false)
      .map(([name, value], index) => (
        <>
          <dt key={index}>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
  </dl>
)
