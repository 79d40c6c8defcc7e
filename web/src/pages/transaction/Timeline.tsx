// What happened to a transaction, the oldest first. The last entry of an open one is what comes next.
import { eventPage } from "../../data/Events.ts"
import type { Event } from "../../data/Events.ts"
import type { Unit } from "../../data/Amounts.ts"
import { may, sessionState } from "../../data/Session.ts"
import { step } from "../../data/Times.ts"
import { isOpen, transactionExplanation } from "../../data/Transactions.ts"
import type { Transaction } from "../../data/Transactions.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { Icon } from "../../parts/Icon.tsx"
import type { IconName } from "../../parts/Icon.tsx"
import { Marked } from "../../parts/Marked.tsx"
import type { Tone } from "../../parts/Tag.tsx"
import { At, Until } from "../../parts/Time.tsx"
import { useAtom, useChange, useQuery } from "../../parts/useAtom.ts"

const text = words.transaction

interface Props {
  readonly id: string
  readonly transaction: Transaction
  /** Of the amounts in sentences. */
  readonly unit: Unit
}

interface Mark {
  readonly tone: Tone
  readonly icon: IconName
}

const marks: Readonly<Record<string, Mark>> = {
  "transaction.created": { tone: "ok", icon: "ok" },
  "transaction.signed": { tone: "ok", icon: "ok" },
  "transaction.submitted": { tone: "ok", icon: "up" },
  "transaction.replaced": { tone: "info", icon: "up" },
  "transaction.held": { tone: "warn", icon: "warn" },
  "transaction.route_changed": { tone: "warn", icon: "up" },
  "transaction.seen_publicly": { tone: "warn", icon: "warn" },
  "transaction.mined": { tone: "info", icon: "wait" },
  "transaction.reorged": { tone: "bad", icon: "bad" },
  "transaction.reorged_final": { tone: "bad", icon: "bad" },
  "transaction.confirmed": { tone: "ok", icon: "ok" },
  "transaction.failed": { tone: "bad", icon: "bad" },
  "transaction.canceled": { tone: "off", icon: "pause" },
  "transaction.expired": { tone: "warn", icon: "warn" }
}

const unknown: Mark = { tone: "off", icon: "dot" }

const isKnown = (type: string): type is keyof typeof text.events => type in text.events

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The part of the event's data that explains the event. */
const moreOf = ({ data }: Event): string | undefined => {
  if (!isObject(data)) return undefined
  const { code, status_reason } = data
  const parts = [code, status_reason].filter((part) => typeof part === "string")
  return parts.length === 0 ? undefined : parts.join(" · ")
}

/** Equal entries in a row are one with a count. */
interface Entry {
  readonly event: Event
  readonly count: number
}

const collapsed = (events: ReadonlyArray<Event>): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  for (const event of events) {
    const last = entries.at(-1)
    const isSame = last !== undefined && last.event.type === event.type && moreOf(last.event) === moreOf(event)
    if (isSame) entries[entries.length - 1] = { event: last.event, count: last.count + 1 }
    else entries.push({ event, count: 1 })
  }
  return entries
}

const When = ({ event, previous }: { readonly event: Event; readonly previous: Event | undefined }) =>
  previous === undefined ? (
    <At at={event.at} />
  ) : (
    <>+{step(event.at.epochMilliseconds - previous.at.epochMilliseconds)}</>
  )

interface LineProps {
  readonly entry: Entry
  readonly previous: Event | undefined
  readonly unit: Unit
}

const Line = ({ entry, previous, unit }: LineProps) => {
  const { event, count } = entry
  const { tone, icon } = marks[event.type] ?? unknown
  const more = moreOf(event)
  return (
    <li>
      <span class={`d ${tone}-fg`}>
        <Icon name={icon} size={16} />
      </span>
      <div>
        <b>{isKnown(event.type) ? text.events[event.type] : event.type}</b>
        {count > 1 && <span class="mut"> × {count}</span>}
      </div>
      <span class="when">
        <When event={event} previous={previous} />
      </span>
      {more !== undefined && (
        <div class="more">
          <bdi>
            <Marked text={more} unit={unit} />
          </bdi>
        </div>
      )}
    </li>
  )
}

/** The box above the timeline has all of them. */
const firstSentence = (text: string): string => text.split(/(?<=\.) (?=[A-Z])/)[0] ?? text

const Next = ({ id, unit }: Pick<Props, "id" | "unit">) => {
  const said = useQuery(transactionExplanation(id)).value
  if (said === undefined) return null
  return (
    <li class="next">
      <span class="d mut">
        <Icon name="dot" size={16} />
      </span>
      <div>
        <b>
          <bdi>
            <Marked text={firstSentence(said.next)} unit={unit} />
          </bdi>
        </b>
      </div>
      <span class="when">{said.next_at !== undefined && <Until at={said.next_at} />}</span>
    </li>
  )
}

/** More than a transaction has, with its replacements and holds. */
const most = "500"

const Events = ({ id, transaction, unit }: Props) => {
  const key = new URLSearchParams({ resource_id: transaction.id, after: "0", limit: most })
  const query = useQuery(eventPage(key.toString()), isOpen(transaction) ? 5_000 : undefined)
  useChange(transaction.status, query.refresh)
  return (
    <Block title={text.timeline} query={query} rows={5}>
      {({ rows }) => {
        const entries = collapsed(rows)
        return (
          <ol class="tl">
            {entries.map((entry, index) => (
              <Line key={entry.event.id} entry={entry} previous={entries[index - 1]?.event} unit={unit} />
            ))}
            {isOpen(transaction) && <Next id={id} unit={unit} />}
          </ol>
        )
      }}
    </Block>
  )
}

/** Without the scope, the explanation still says what comes next. */
const WithoutEvents = ({ id, transaction, unit }: Props) => (
  <section class="card" aria-label={text.timeline}>
    <h2>{text.timeline}</h2>
    <p class="pad mut">
      {words.failure.needs} <code>events:read</code>.
    </p>
    {isOpen(transaction) && (
      <ol class="tl">
        <Next id={id} unit={unit} />
      </ol>
    )}
  </section>
)

export const Timeline = (props: Props) =>
  may(useAtom(sessionState), "events:read") ? <Events {...props} /> : <WithoutEvents {...props} />
