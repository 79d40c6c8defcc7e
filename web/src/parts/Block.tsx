// A part of a page with one query behind it: its title, what it shows while it loads, and what of a failure.
import type { ComponentChildren } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { Failure } from "../data/Failure.ts"
import { words } from "../words.ts"
import { Code } from "./Copy.tsx"
import { Icon } from "./Icon.tsx"
import { Age } from "./Time.tsx"
import type { Shown } from "./useAtom.ts"

const titleOf = ({ status }: Failure) => {
  if (status === 403) return words.failure.forbidden
  if (status === 404) return words.failure.notFound
  return status === 0 || status === 503 ? words.failure.unreachable : words.failure.failed
}

/** A failure with its request id, which the log of the service has too. A 404 says the same for each id that the session does not see. */
export const Failed = ({ failure, retry }: { readonly failure: Failure; readonly retry?: () => void }) => (
  <div class="failed" role="alert">
    <Icon name="bad" size={17} />
    <div>
      <b>{titleOf(failure)}</b>
      {failure.status !== 404 && (
        <p>
          <bdi>{failure.status === 403 ? words.failure.scope : failure.text}</bdi>
        </p>
      )}
      {failure.requestId !== undefined && (
        <p class="mut">
          {words.failure.request} <Code text={failure.requestId} full />
        </p>
      )}
    </div>
    {retry !== undefined && (
      <button class="btn s" type="button" onClick={retry}>
        {words.failure.again}
      </button>
    )}
  </div>
)

/** Milliseconds before grey bars appear, so that a fast answer does not flicker. */
const patience = 150

export const Bars = ({ rows }: { readonly rows: number }) => {
  const [isShown, show] = useState(false)
  useEffect(() => {
    const timer = setTimeout(show, patience, true)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class="bars" role="group" aria-busy="true" aria-label={words.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <i key={index} class={isShown ? "shown" : ""} />
      ))}
    </div>
  )
}

interface BodyProps<A> {
  readonly query: Shown<A>
  /** Rows of the final content, roughly. */
  readonly rows?: number
  readonly children: (value: A) => ComponentChildren
}

/** The last value stays on the screen after a failure, with its age. */
export const Loaded = <A,>({ query, rows = 3, children }: BodyProps<A>) => {
  const { value, failure, at, refresh } = query
  if (value === undefined) {
    return failure === undefined ? <Bars rows={rows} /> : <Failed failure={failure} retry={refresh} />
  }
  return (
    <>
      {failure !== undefined && (
        <>
          <Failed failure={failure} retry={refresh} />
          {at !== undefined && (
            <p class="stale">
              {words.failure.shown} <Age at={at} /> {words.failure.ago}
            </p>
          )}
        </>
      )}
      {children(value)}
    </>
  )
}

interface Props<A> extends BodyProps<A> {
  readonly title: string
  readonly aside?: ComponentChildren
}

export const Block = <A,>({ title, aside, ...body }: Props<A>) => (
  <section class="card" aria-label={title}>
    <h2>
      {title}
      {aside !== undefined && <span class="x">{aside}</span>}
    </h2>
    <Loaded {...body} />
  </section>
)
