// The claim of a name: its holder, and when its lease ends. The address has the name.
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import { claimOf } from "../data/Claims.ts"
import type { Claim } from "../data/Claims.ts"
import { may, sessionState } from "../data/Session.ts"
import { words } from "../words.ts"
import { Block } from "../parts/Block.tsx"
import { Code } from "../parts/Copy.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Empty } from "../parts/List.tsx"
import { Facts, Page } from "../parts/Page.tsx"
import { Tag, mark } from "../parts/Tag.tsx"
import { At, Until } from "../parts/Time.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"

const text = words.claims

/** Milliseconds. Leases are some seconds long. */
const refreshed = 2_000

const finalized = "claim.finalized"

/** It does not repeat the name that the page shows: names of 128 characters are wider than a field. */
const NameForm = () => {
  const { route } = useLocation()
  const [written, write] = useState("")
  const onSubmit = (event: Event) => {
    event.preventDefault()
    const wanted = written.trim()
    route(wanted === "" ? "/console/claims" : `/console/claims/${encodeURIComponent(wanted)}`)
  }
  return (
    <form class="flt" onSubmit={onSubmit}>
      <label class="search">
        <Icon name="find" />
        <input
          type="search"
          value={written}
          placeholder={text.name}
          aria-label={text.name}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          onInput={({ currentTarget }) => write(currentTarget.value)}
        />
      </label>
      <button class="btn" type="submit">
        {text.show}
      </button>
    </form>
  )
}

const recordsOf = (about: Readonly<Record<string, string>>) =>
  `/console/audit?${new URLSearchParams({ action: finalized, ...about })}`

interface DetailsProps {
  readonly claim: Claim
  /** Whether the session may read the audit log. */
  readonly isAudited: boolean
}

const Details = ({ claim: { name, by, final, claimed_at, ends_at }, isAudited }: DetailsProps) => (
  <div class="pad">
    <Facts
      facts={[
        [text.name, <Code text={name} full />],
        [text.state, <Tag {...(final ? mark("ok", text.final) : mark("info", text.lease))} />],
        [text.holder, by === undefined ? text.otherKey : <Code text={by} full />],
        [text.since, <At at={claimed_at} />],
        [
          final ? text.keptUntil : text.leaseEnds,
          <>
            <At at={ends_at} />{" "}
            <span class="mut">
              <Until at={ends_at} />
            </span>
          </>
        ]
      ]}
    />
    <p class="mut">{final ? text.finalText : text.leaseText}</p>
    {final && isAudited && (
      <a class="l" href={recordsOf({ resource_id: name })}>
        {text.record}
      </a>
    )}
  </div>
)

const KnownClaim = ({ name, isAudited }: { readonly name: string; readonly isAudited: boolean }) => {
  const query = useQuery(claimOf(name), refreshed)
  return (
    <Block title={text.one} query={query} rows={5}>
      {(claim) => (claim === null ? <Empty text={text.free(name)} /> : <Details claim={claim} isAudited={isAudited} />)}
    </Block>
  )
}

export const ClaimsPage = () => {
  const { params } = useRoute()
  const session = useAtom(sessionState)
  const name = params["name"] ?? ""
  const isAudited = may(session, "audit:read")
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={
        isAudited && (
          <a class="btn" href={recordsOf({})}>
            {text.records}
          </a>
        )
      }
    >
      <NameForm key={name} />
      {name === "" ? (
        <section class="card" aria-label={text.title}>
          <Empty text={text.none} />
        </section>
      ) : (
        <KnownClaim key={name} name={name} isAudited={isAudited} />
      )}
    </Page>
  )
}
