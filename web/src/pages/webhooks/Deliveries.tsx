// The deliveries to a receiver, with its last answer to each.
import { useState } from "preact/hooks"
import type { Failure } from "../../data/Failure.ts"
import { act, refresh } from "../../data/Registry.ts"
import { may, sessionState } from "../../data/Session.ts"
import { deliveriesKey, deliveryPage, retryDelivery } from "../../data/Webhooks.ts"
import type { Delivery } from "../../data/Webhooks.ts"
import { words } from "../../words.ts"
import { Block, Failed } from "../../parts/Block.tsx"
import { createdParameter } from "../../parts/Created.tsx"
import { ActiveFilters, SelectFilter, TextFilter, choices } from "../../parts/Filters.tsx"
import { Empty, List, Pager } from "../../parts/List.tsx"
import type { Column } from "../../parts/List.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import { At, Until } from "../../parts/Time.tsx"
import { useAtom, useQuery, useSearch } from "../../parts/useAtom.ts"
import { useEventsAbout } from "../../parts/useEvents.ts"
import { Writes } from "../../parts/Writes.tsx"

const text = words.webhooks

const stateMark = (state: string) => {
  if (state === "delivered") return mark("ok", text.states.delivered)
  return state === "failed" ? mark("bad", text.states.failed) : mark("info", text.states.pending)
}

/** Control characters of an answer are shown as escapes. */
const escaped = (answer: string) =>
  answer.replace(
    /[\p{Cc}\p{Cf}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`
  )

/** A delivery without a try, whose time has passed, waits for an earlier one of the same object. */
const LastTry = ({ delivery: { attempts, state, next_attempt_at } }: { readonly delivery: Delivery }) => {
  // The newest attempt is the first one of the list.
  const [last] = attempts
  if (last === undefined) return <>{state === "pending" ? text.waits : "–"}</>
  return (
    <>
      {last.status ?? last.outcome}
      {last.answer !== undefined && (
        <>
          {" "}
          <code class="wrap">{escaped(last.answer)}</code>
        </>
      )}
      {state === "pending" && next_attempt_at !== undefined && (
        <span class="mut">
          {" "}
          · {text.nextTry} <Until at={next_attempt_at} />
        </span>
      )}
    </>
  )
}

const deliveryColumns = (retry: ((id: string) => void) | undefined): ReadonlyArray<Column<Delivery>> => [
  { head: text.state, card: "state", cell: ({ state }) => <Tag {...stateMark(state)} /> },
  { head: text.type, card: "title", cell: ({ type }) => <code>{type}</code> },
  {
    head: text.relayer,
    card: "hidden",
    cell: ({ relayer_id }) =>
      relayer_id === undefined ? "–" : <a href={`/console/relayers/${encodeURIComponent(relayer_id)}`}>{relayer_id}</a>
  },
  { head: text.created, cell: ({ created_at }) => <At at={created_at} /> },
  { head: text.tries, isNumber: true, card: "hidden", cell: ({ attempts }) => attempts.length },
  { head: text.answer, cell: (delivery) => <LastTry delivery={delivery} /> },
  ...(retry === undefined
    ? []
    : [
        {
          head: text.retry,
          cell: ({ id, state }: Delivery) =>
            state === "failed" ? (
              <Writes>
                <button class="btn s" type="button" onClick={() => retry(id)}>
                  {text.retry}
                </button>
              </Writes>
            ) : (
              ""
            )
        }
      ])
]

const filters = ["state", "type", "relayer_id"]

export const Deliveries = ({ id }: { readonly id: string }) => {
  const session = useAtom(sessionState)
  const { parameters, href } = useSearch()
  const selected = new URLSearchParams(parameters)
  selected.delete(createdParameter)
  const list = deliveryPage(deliveriesKey(id, selected))
  const query = useQuery(list, 15_000)
  // Each event may be a delivery.
  useEventsAbout(() => true, query.refresh)
  const [failure, setFailure] = useState<Failure>()
  const retry = async (delivery: string) => {
    const outcome = await act(retryDelivery(id, delivery))
    setFailure(outcome.ok ? undefined : outcome.failure)
    refresh(list)
  }
  return (
    <>
      <div class="flt">
        <SelectFilter name="state" label={text.state} choices={choices(["pending", "delivered", "failed"])} />
        <TextFilter name="type" label={text.type} />
        <TextFilter name="relayer_id" label={text.relayer} />
      </div>
      {failure !== undefined && <Failed failure={failure} />}
      {query.failure?.status === 400 && <ActiveFilters />}
      <Block title={text.deliveries} query={query} rows={6}>
        {({ rows, next }) =>
          rows.length === 0 ? (
            <Empty text={filters.some((name) => parameters.has(name)) ? text.noMatch : text.noDelivery} />
          ) : (
            <>
              <List
                label={text.deliveries}
                columns={deliveryColumns(may(session, "notifications:write") ? (id) => void retry(id) : undefined)}
                rows={rows}
                keyOf={(delivery) => delivery.id}
              />
              <Pager
                first={parameters.has("cursor") ? href({ cursor: undefined }) : undefined}
                next={next === undefined ? undefined : href({ cursor: next })}
              />
            </>
          )
        }
      </Block>
    </>
  )
}
