// The events of the service, the newest first: follows what is new, can be paused, and leads to older ones.
import { useState } from "preact/hooks"
import { eventPage } from "../data/Events.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { EventRows } from "../parts/EventRows.tsx"
import { ActiveFilters, SelectFilter, TextFilter, choices } from "../parts/Filters.tsx"
import { Empty, Pager } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { useQuery, useSearch } from "../parts/useAtom.ts"

const text = words.events

const perPage = 100

/** Milliseconds between two looks while the page follows. */
const refreshed = 5_000

const filters = ["type", "relayer_id", "resource_id"]

export const EventsPage = () => {
  const { parameters, href } = useSearch()
  const [isPaused, setPaused] = useState(false)
  const before = parameters.get("before") ?? "latest"
  const key = new URLSearchParams(parameters)
  key.set("before", before)
  key.set("limit", String(perPage))
  const isFollowing = !isPaused && before === "latest"
  const query = useQuery(eventPage(key.toString()), isFollowing ? refreshed : undefined)
  return (
    <Page
      title={text.title}
      sub={before === "latest" ? (isPaused ? text.paused : text.follows) : text.past}
      actions={
        before === "latest" && (
          <button class="btn" type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? text.follow : text.pause}
          </button>
        )
      }
    >
      <div class="flt">
        <SelectFilter name="type" label={text.type} choices={choices(text.types)} />
        <TextFilter name="relayer_id" label={text.relayer} />
        <TextFilter name="resource_id" label={text.resource} />
      </div>
      {query.failure?.status === 400 && <ActiveFilters names={[...filters, "before"]} />}
      <Block title={text.title} query={query} rows={10}>
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty text={filters.some((name) => parameters.has(name)) ? text.noMatch : text.none} />
          ) : (
            <>
              <EventRows label={text.title} rows={rows} />
              <Pager
                first={before === "latest" ? undefined : href({ before: undefined })}
                next={rows.length < perPage ? undefined : href({ before: String(rows.at(-1)?.id) })}
              />
            </>
          )
        }
      </Block>
    </Page>
  )
}
