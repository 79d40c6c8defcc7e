// The events of the service, the newest first: follows what is new, can be paused, and leads to older ones.
import { useState } from "preact/hooks"
import { eventTypes } from "../../../src/domain/access/Resources.ts"
import { grouped } from "../data/Amounts.ts"
import { matcherOf } from "../data/EventFilter.ts"
import { eventPage } from "../data/Events.ts"
import type { Event } from "../data/Events.ts"
import { above, mostPerSecond } from "../data/Tail.ts"
import type { Tail } from "../data/Tail.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { CopyButton } from "../parts/Copy.tsx"
import { EventRows } from "../parts/EventRows.tsx"
import { ActiveFilters, SelectFilter, TextFilter, choices } from "../parts/Filters.tsx"
import { Empty, Pager } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { useQuery, useSearch } from "../parts/useAtom.ts"
import type { Shown } from "../parts/useAtom.ts"
import { useTail } from "../parts/useEvents.ts"

const text = words.events

const perPage = 100

const filters = ["type", "relayer_id", "resource_id"]

/** The events before a place. */
const useEventPage = (before: string) => {
  const { parameters } = useSearch()
  const key = new URLSearchParams(parameters)
  key.set("before", before)
  key.set("limit", String(perPage))
  return useQuery(eventPage(key.toString()))
}

interface ListProps {
  readonly query: Shown<unknown>
  readonly rows: ReadonlyArray<Event>
  /** Whether there is a first page to go back to. */
  readonly isPast?: boolean
  /** Whether there are older events. */
  readonly hasMore: boolean
}

const Events = ({ query, rows, isPast = false, hasMore }: ListProps) => {
  const { parameters, href } = useSearch()
  return (
    <>
      <div class="flt">
        <SelectFilter name="type" label={text.type} choices={choices(eventTypes)} />
        <TextFilter name="relayer_id" label={text.relayer} />
        <TextFilter name="resource_id" label={text.resource} />
      </div>
      {query.failure?.status === 400 && <ActiveFilters />}
      <Block title={text.title} query={query} rows={10}>
        {() =>
          rows.length === 0 ? (
            <Empty text={filters.some((name) => parameters.has(name)) ? text.noMatch : text.none} />
          ) : (
            <>
              <EventRows label={text.title} rows={rows} />
              <Pager
                first={isPast ? href({ before: undefined }) : undefined}
                next={hasMore ? href({ before: String(rows.at(-1)?.id) }) : undefined}
              />
            </>
          )
        }
      </Block>
    </>
  )
}

const PastEvents = ({ before }: { readonly before: string }) => {
  const query = useEventPage(before)
  const rows = query.value?.rows ?? []
  return (
    <Page title={text.title} sub={text.past}>
      <Events query={query} rows={rows} isPast hasMore={rows.length === perPage} />
    </Page>
  )
}

/** What the screen does not show, and why. */
const Missing = ({ tail, isPaused }: { readonly tail: Tail<Event>; readonly isPaused: boolean }) => (
  <div role="status">
    {isPaused && tail.held.length > 0 && <p class="read-only">{text.held(grouped(tail.held.length + tail.dropped))}</p>}
    {tail.leftOut > 0 && <p class="read-only">{text.leftOut(grouped(tail.leftOut), mostPerSecond)}</p>}
  </div>
)

/** The link leads to what the paused screen shows, whatever is published later. */
const PauseButtons = ({
  newest,
  isPaused,
  onClick
}: {
  readonly newest: number
  readonly isPaused: boolean
  readonly onClick: () => void
}) => {
  const { href } = useSearch()
  return (
    <>
      {isPaused && <CopyButton text={location.origin + href({ before: String(newest + 1) })} label={text.copyLink} />}
      <button class="btn" type="button" data-key="p" aria-pressed={isPaused} onClick={onClick}>
        {isPaused ? text.follow : text.pause}
      </button>
    </>
  )
}

const LiveEvents = () => {
  const { parameters } = useSearch()
  const [pausedAt, pauseAt] = useState<number>()
  const query = useEventPage("latest")
  const isPaused = pausedAt !== undefined
  const tail = useTail({ matches: matcherOf(parameters), isPaused, isOn: true, refresh: query.refresh })
  const loaded = query.value?.rows ?? []
  const rows = above(
    tail,
    loaded.filter(({ id }) => pausedAt === undefined || id <= pausedAt)
  )
  const newest = rows[0]?.id ?? 0
  return (
    <Page
      title={text.title}
      sub={isPaused ? text.paused : text.follows}
      actions={
        <PauseButtons newest={newest} isPaused={isPaused} onClick={() => pauseAt(isPaused ? undefined : newest)} />
      }
    >
      <Missing tail={tail} isPaused={isPaused} />
      <Events query={query} rows={rows} hasMore={loaded.length === perPage} />
    </Page>
  )
}

export const EventsPage = () => {
  const { parameters } = useSearch()
  const before = parameters.get("before") ?? "latest"
  // Another filter is another tail.
  return before === "latest" ? <LiveEvents key={parameters.toString()} /> : <PastEvents before={before} />
}
