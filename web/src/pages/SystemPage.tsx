// The instances of the service, and the components and jobs of the one that answers.
import { clockAhead } from "../data/Clock.ts"
import { may, sessionState } from "../data/Session.ts"
import { readiness } from "../data/System.ts"
import { duration } from "../data/Times.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { List } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { Tag, mark } from "../parts/Tag.tsx"
import type { Tone } from "../parts/Tag.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"
import { Instances } from "./system/Instances.tsx"

const text = words.system

interface Row {
  readonly name: string
  readonly status: string
  readonly reason?: string
}

const tones: Readonly<Record<string, Tone>> = { healthy: "ok", degraded: "warn", unhealthy: "bad", off: "off" }

const columns: ReadonlyArray<Column<Row>> = [
  { head: text.component, card: "title", cell: ({ name }) => <code>{name}</code> },
  { head: text.state, card: "state", cell: ({ status }) => <Tag {...mark(tones[status] ?? "off", status)} /> },
  { head: text.reason, cell: ({ reason }) => reason }
]

/** The jobs are listed like components, by their names below `jobs`. */
const rowsOf = (components: object): ReadonlyArray<Row> =>
  Object.entries(components).flatMap(([name, { status, reason, ...parts }]: [string, Record<string, string>]) => [
    { name, status: status ?? "", ...(reason === undefined ? {} : { reason }) },
    ...Object.entries(parts).map(([part, status]) => ({ name: `${name}.${part}`, status }))
  ])

/** Milliseconds. */
const refreshed = 15_000

/** Milliseconds of difference that a person has to know. The header field `Date` has a resolution of a second. */
const noticeable = 60_000

const ClockNote = () => {
  const ahead = clockAhead()
  if (Math.abs(ahead) < noticeable) return null
  return (
    <p class="read-only" role="status">
      {text.clock(duration(Math.abs(ahead)), ahead > 0)}
    </p>
  )
}

export const SystemPage = () => {
  const session = useAtom(sessionState)
  const query = useQuery(readiness, refreshed)
  return (
    <Page
      title={text.title}
      heading={
        <>
          {text.title}{" "}
          {query.value !== undefined && <Tag {...mark(tones[query.value.status] ?? "off", query.value.status)} />}
        </>
      }
      sub={query.value === undefined ? undefined : text.version(query.value.version)}
      actions={
        <a class="btn" href="/metrics" target="_blank" rel="noopener">
          {text.metrics}
        </a>
      }
    >
      <ClockNote />
      <div class="grid">
        {may(session, "relayers:read") && <Instances />}
        <Block title={text.components} query={query} rows={10}>
          {({ components }) => (
            <List label={text.components} columns={columns} rows={rowsOf(components)} keyOf={({ name }) => name} />
          )}
        </Block>
      </div>
    </Page>
  )
}
