// The list of signers, and one of them: its addresses, the relayers that sign with it, and whether its key works.
import { useLocation, useRoute } from "preact-iso"
import { useState } from "preact/hooks"
import type { Failure } from "../data/Failure.ts"
import { act, refresh } from "../data/Registry.ts"
import { relayerPage } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import { deleteSigner, signerById, signerList, signerPage, verifySigner } from "../data/Signers.ts"
import type { Signer } from "../data/Signers.ts"
import { words } from "../words.ts"
import { Block, Failed, Loaded } from "../parts/Block.tsx"
import { Code } from "../parts/Copy.tsx"
import { Created } from "../parts/Created.tsx"
import { Dialog, useQuestion } from "../parts/Dialog.tsx"
import type { Question } from "../parts/Dialog.tsx"
import { Empty, List, UnreadableRows } from "../parts/List.tsx"
import type { Column } from "../parts/List.tsx"
import { Page } from "../parts/Page.tsx"
import { RelayerRows } from "../parts/RelayerRows.tsx"
import { Tag, mark } from "../parts/Tag.tsx"
import { Tree } from "../parts/Tree.tsx"
import { useAtom, useQuery } from "../parts/useAtom.ts"
import { Writes } from "../parts/Writes.tsx"

const text = words.signers

type Step = Readonly<Record<"curve" | "step" | "status", string>> & { readonly message?: string }

const toneOf = (status: string) => {
  if (status === "ok") return "ok"
  if (status === "failed") return "bad"
  return status === "warning" ? "warn" : "off"
}

const stepColumns: ReadonlyArray<Column<Step>> = [
  { head: text.step, card: "title", cell: ({ step }) => <code>{step}</code> },
  { head: text.curve, card: "hidden", cell: ({ curve }) => curve },
  { head: text.result, card: "state", cell: ({ status }) => <Tag {...mark(toneOf(status), status)} /> },
  { head: text.message, cell: ({ message }) => message }
]

const Verify = ({ id }: { readonly id: string }) => {
  const [steps, setSteps] = useState<ReadonlyArray<Step>>()
  const [failure, setFailure] = useState<Failure>()
  const [isBusy, setBusy] = useState(false)
  const onClick = async () => {
    if (isBusy) return
    setBusy(true)
    const outcome = await act(verifySigner(id))
    setBusy(false)
    if (outcome.ok) setSteps(outcome.value.steps)
    else setFailure(outcome.failure)
  }
  const close = () => {
    setSteps(undefined)
    setFailure(undefined)
  }
  return (
    <>
      <Writes>
        <button class="btn s" type="button" aria-disabled={isBusy} onClick={onClick}>
          {isBusy ? text.verifying : text.verify}
        </button>
      </Writes>
      {(steps !== undefined || failure !== undefined) && (
        <Dialog title={text.verification(id)} onClose={close}>
          {failure !== undefined && <Failed failure={failure} />}
          {steps !== undefined && (
            <List
              label={text.verify}
              columns={stepColumns}
              rows={steps}
              keyOf={({ curve, step }) => `${curve} ${step}`}
            />
          )}
          <div class="do">
            <button class="btn" type="button" autofocus onClick={close}>
              {words.confirm.close}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

const Address = ({ of: [type, address] }: { readonly of: readonly [type: string, address: unknown] }) => (
  <span class="two">
    <small>{type}</small>
    <Code text={String(address)} />
  </span>
)

const Addresses = ({ signer }: { readonly signer: Signer }) => (
  <>
    {Object.entries(signer.addresses).map((entry) => (
      <Address key={entry[0]} of={entry} />
    ))}
  </>
)

/** A row of the list has the first address; the others open below it. */
const FirstAddress = ({ signer }: { readonly signer: Signer }) => {
  const [first, ...others] = Object.entries(signer.addresses)
  return (
    <>
      {first !== undefined && <Address of={first} />}
      {others.length > 0 && (
        <details>
          <summary>{text.moreAddresses(others.length)}</summary>
          {others.map((entry) => (
            <Address key={entry[0]} of={entry} />
          ))}
        </details>
      )}
    </>
  )
}

const State = ({ signer }: { readonly signer: Signer }) =>
  "disabled_reason" in signer && signer.disabled_reason !== undefined ? (
    <span title={signer.disabled_reason.message}>
      <Tag {...mark("bad", signer.disabled_reason.code)} />
    </span>
  ) : (
    <Tag {...mark("ok", words.states.enabled)} />
  )

const columnsFor = (mayVerify: boolean): ReadonlyArray<Column<Signer>> => [
  {
    head: text.id,
    card: "title",
    cell: ({ id }) => <a href={`/console/signers/${encodeURIComponent(id)}`}>{id}</a>
  },
  { head: text.type, card: "state", cell: ({ type }) => <code>{type}</code> },
  {
    head: text.state,
    cell: (signer) => <State signer={signer} />
  },
  { head: text.addresses, cell: (signer) => <FirstAddress signer={signer} /> },
  ...(mayVerify ? [{ head: text.check, cell: ({ id }: Signer) => <Verify id={id} /> }] : [])
]

export const SignersPage = () => {
  const session = useAtom(sessionState)
  const query = useQuery(signerPage)
  const mayWrite = may(session, "signers:write")
  return (
    <Page
      title={text.title}
      sub={text.sub}
      actions={
        mayWrite && (
          <a class="btn p" href="/console/new/signer">
            {words.create.signer}
          </a>
        )
      }
    >
      <Block title={text.title} query={query} rows={6}>
        {({ rows, unreadable }) =>
          rows.length + unreadable.length === 0 ? (
            <Empty text={text.none} />
          ) : (
            <>
              <UnreadableRows rows={unreadable} />
              {rows.length > 0 && (
                <List label={text.title} columns={columnsFor(mayWrite)} rows={rows} keyOf={({ id }) => id} />
              )}
            </>
          )
        }
      </Block>
    </Page>
  )
}

/** Types whose key exists only in the database of the service, unless its owner has a copy. */
const stored: ReadonlySet<string> = new Set(["plain", "local"])

const Delete = ({ signer: { id, type } }: { readonly signer: Signer }) => {
  const { route } = useLocation()
  const [dialog, ask] = useQuestion()
  const question: Question = {
    title: text.deleteTitle,
    text: stored.has(type) ? text.deleteStored : text.deleteReference,
    action: words.relayers.deleteAction,
    isDangerous: true,
    typed: id,
    act: async () => {
      const outcome = await act(deleteSigner(id))
      refresh(signerPage, signerList)
      if (outcome.ok) route("/console/signers")
      return outcome
    }
  }
  return (
    <>
      <Writes>
        <button class="btn s d" type="button" onClick={() => ask(question)}>
          {words.relayers.delete}
        </button>
      </Writes>
      {dialog}
    </>
  )
}

const Relayers = ({ id }: { readonly id: string }) => {
  const key = new URLSearchParams({ signer_id: id, per_page: "100" })
  const query = useQuery(relayerPage(key.toString()))
  return (
    <Block title={text.relayers} query={query}>
      {({ rows, unreadable }) =>
        rows.length + unreadable.length === 0 ? (
          <Empty text={text.noRelayer} />
        ) : (
          <>
            <UnreadableRows rows={unreadable} />
            {rows.length > 0 && <RelayerRows label={text.relayers} rows={rows} />}
          </>
        )
      }
    </Block>
  )
}

export const SignerPage = () => {
  const { params } = useRoute()
  const session = useAtom(sessionState)
  const id = params["id"] ?? ""
  const query = useQuery(signerById(id))
  return (
    <Page
      title={id}
      crumbs={[{ href: "/console/signers", label: text.title }]}
      heading={
        query.value && (
          <>
            <bdi>{id}</bdi> <State signer={query.value} />
          </>
        )
      }
      actions={
        query.value !== undefined &&
        may(session, "signers:write") && (
          <>
            <Verify id={id} />
            <Delete signer={query.value} />
          </>
        )
      }
    >
      <Loaded query={query} rows={6}>
        {(signer) => (
          <div class="grid">
            <Created next={words.create.nextOfSigner}>
              {may(session, "relayers:write") && (
                <a class="btn s p" href={`/console/new/relayer?signer_id=${encodeURIComponent(id)}`}>
                  {words.create.relayer}
                </a>
              )}
            </Created>
            <section class="card" aria-label={text.addresses}>
              <h2>{text.addresses}</h2>
              <div class="pad">
                <Addresses signer={signer} />
              </div>
            </section>
            <section class="card" aria-label={text.configuration}>
              <h2>{text.configuration}</h2>
              <Tree value={{ type: signer.type, ...signer.config, managed_by: signer.managed_by }} />
            </section>
            {may(session, "relayers:read") && <Relayers id={id} />}
          </div>
        )}
      </Loaded>
    </Page>
  )
}
