// The running instances of the service, with what each does.
import { grouped } from "../../data/Amounts.ts"
import { instanceList } from "../../data/System.ts"
import type { Instance } from "../../data/System.ts"
import { words } from "../../words.ts"
import { Block } from "../../parts/Block.tsx"
import { Code } from "../../parts/Copy.tsx"
import { List } from "../../parts/List.tsx"
import type { Column } from "../../parts/List.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import { Age, At } from "../../parts/Time.tsx"
import { useQuery } from "../../parts/useAtom.ts"
import { now } from "../../data/Clock.ts"

const text = words.system

/** Milliseconds. */
const refreshed = 15_000

/** Milliseconds. An instance writes every ten seconds that it runs. */
const silentAfter = 30_000

const isSilent = ({ last_seen_at }: Instance) => now() - last_seen_at.epochMilliseconds > silentAfter

/** Jobs that do not work. A job that is off is not listed. */
const troubled = ({ jobs }: Instance) =>
  Object.entries(jobs).filter(([, status]) => status !== "healthy" && status !== "off")

/** What a silent instance wrote last says nothing of its jobs now. */
const Jobs = ({ instance }: { readonly instance: Instance }) => {
  if (isSilent(instance)) return <>–</>
  const jobs = troubled(instance)
  if (jobs.length === 0) return <Tag {...mark("ok", text.jobsWork)} />
  return <Tag {...mark("warn", jobs.map(([name, status]) => `${name}: ${status}`).join(", "))} />
}

const columns: ReadonlyArray<Column<Instance>> = [
  {
    head: text.instance,
    card: "title",
    cell: ({ id, is_this }) => (
      <>
        <Code text={id} /> {is_this && <span class="mut">{text.answers}</span>}
      </>
    )
  },
  {
    head: text.state,
    card: "state",
    cell: (instance) => <Tag {...(isSilent(instance) ? mark("bad", text.silent) : mark("ok", text.runs))} />
  },
  { head: text.versionHead, cell: ({ version }) => version },
  { head: text.started, cell: ({ started_at }) => <At at={started_at} /> },
  { head: text.seen, isNumber: true, cell: ({ last_seen_at }) => <Age at={last_seen_at} /> },
  {
    head: text.lanes,
    isNumber: true,
    cell: ({ lanes_held }) => (lanes_held === undefined ? "–" : grouped(lanes_held))
  },
  { head: text.jobs, cell: (instance) => <Jobs instance={instance} /> }
]

export const Instances = () => {
  const query = useQuery(instanceList, refreshed)
  const versions = new Set(query.value?.map(({ version }) => version))
  return (
    <Block
      title={text.instances}
      aside={versions.size > 1 && <Tag {...mark("warn", text.mixed(versions.size))} />}
      query={query}
      rows={3}
    >
      {(instances) => <List label={text.instances} columns={columns} rows={instances} keyOf={({ id }) => id} />}
    </Block>
  )
}
