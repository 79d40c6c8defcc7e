// What the account of an evm relayer delegates to: its state, what has changed, and how to set and to end it.
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { delegate, checkDelegate, delegationOf, undelegate } from "../../data/Delegations.ts"
import type { Delegation } from "../../data/Delegations.ts"
import type { Failure } from "../../data/Failure.ts"
import { bodyOf } from "../../data/FormFields.ts"
import type { Entered, Problems } from "../../data/FormFields.ts"
import { forms } from "../../data/Forms.ts"
import { unitOf } from "../../data/Chains.ts"
import { networkList } from "../../data/Networks.ts"
import type { Versioned } from "../../data/Pages.ts"
import { act, refresh } from "../../data/Registry.ts"
import { relayerExplanation } from "../../data/Relayers.ts"
import type { Relayer } from "../../data/Relayers.ts"
import { may, mayDelegate, sessionState } from "../../data/Session.ts"
import { words } from "../../words.ts"
import { Block, Failed } from "../../parts/Block.tsx"
import { Code } from "../../parts/Copy.tsx"
import { Confirm, useQuestion } from "../../parts/Dialog.tsx"
import { SchemaForm } from "../../parts/Form.tsx"
import { MissingScope } from "../../parts/NoScope.tsx"
import { Facts } from "../../parts/Page.tsx"
import { refusedFields } from "../../parts/Patch.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import { Age, At } from "../../parts/Time.tsx"
import { transactionHref } from "../../parts/TransactionRows.tsx"
import { useAtom, useQuery } from "../../parts/useAtom.ts"
import { useEventsAbout } from "../../parts/useEvents.ts"
import { Writes } from "../../parts/Writes.tsx"
import { markOfNetwork } from "../send/Review.tsx"

const text = words.delegation

/** Milliseconds. A change is final after minutes. */
const refreshed = 15_000

const form = forms["DelegateRequest"] ?? []

const stateOf = ({ address, is_final, changed, open_transaction_id: open }: Delegation) => {
  if (changed !== undefined) return mark("bad", text.changed)
  if (open !== undefined) return mark("info", text.changing)
  if (!is_final) return mark("info", text.notFinal)
  return address === undefined ? mark("off", text.none) : mark("ok", text.final)
}

const refreshAll = (id: string) => refresh(delegationOf(id), relayerExplanation(id))

const State = ({ relayer, found }: { readonly relayer: Relayer; readonly found: Delegation }) => {
  const { address, changed, changed_since: since, takes_signatures: takes, open_transaction_id: open } = found
  return (
    <div class="pad">
      <Facts
        facts={[
          [text.state, <Tag {...stateOf(found)} />],
          [text.delegate, address !== undefined && <Code text={address} full />],
          [
            text.what,
            changed !== undefined && (
              <>
                <bdi class="wrap">{changed}</bdi>{" "}
                {since !== undefined && (
                  <span class="mut">
                    {text.since} <Age at={since} />
                  </span>
                )}
              </>
            )
          ],
          [
            text.changing,
            open !== undefined && (
              <a class="l" href={transactionHref({ relayer_id: relayer.id, id: open })}>
                {text.openTransaction}
              </a>
            )
          ],
          [text.signatures, takes !== undefined && (takes ? text.yes : text.no)],
          [text.codeHash, found.code_hash !== undefined && <Code text={found.code_hash} />],
          [text.implementation, found.implementation !== undefined && <Code text={found.implementation} full />],
          [text.beacon, found.beacon !== undefined && <Code text={found.beacon} full />],
          [text.nonce, found.nonce?.toString()],
          [text.checked, found.checked_at !== undefined && <At at={found.checked_at} />]
        ]}
      />
      <p class="mut">{text.shared}</p>
    </div>
  )
}

interface Accepted {
  readonly transaction_id: string
  readonly warnings: ReadonlyArray<string>
}

/** Which transaction makes the change, and what changes for the account. */
const AcceptedChange = ({ id, change }: { readonly id: string; readonly change: Accepted }) => (
  <div class="pad" role="status">
    <p>
      {text.accepted}{" "}
      <a class="l" href={transactionHref({ relayer_id: id, id: change.transaction_id })}>
        {text.openTransaction}
      </a>
    </p>
    <ul class="values">
      {change.warnings.map((warning) => (
        <li key={warning}>
          <bdi class="wrap">{warning}</bdi>
        </li>
      ))}
    </ul>
  </div>
)

interface ChangeProps {
  readonly relayer: Relayer
  readonly accepted: (change: Accepted) => void
}

/** The second look: which account, on which network, runs which code from then on. */
const About = ({ relayer, children }: { readonly relayer: Relayer; readonly children?: ComponentChildren }) => {
  const network = useQuery(networkList).value?.find(
    ({ name, network_type }) => name === relayer.network && network_type === relayer.network_type
  )
  return (
    <Facts
      facts={[
        [
          words.relayers.network,
          <>
            {relayer.network_type}:{relayer.network} <Tag {...markOfNetwork(network)} />
          </>
        ],
        [text.account, <Code text={relayer.address} full />],
        [text.delegate, children]
      ]}
    />
  )
}

const Set = ({ relayer, isChange, accepted }: ChangeProps & { readonly isChange: boolean }) => {
  const [entered, setEntered] = useState<Entered>({})
  const [problems, setProblems] = useState<Problems>({})
  const [failure, setFailure] = useState<Failure>()
  const [isAsked, setAsked] = useState(false)
  /** The same for each try of this form, so that a second click delegates only once. */
  const [key, renewKey] = useState(() => crypto.randomUUID())
  const native = unitOf(relayer.network_type, undefined, undefined)
  const { json, problems: found } = bodyOf(form, entered, native)
  const refused = (failure: Failure) => {
    setFailure(failure)
    if (failure.status === 400) setProblems(refusedFields(failure))
  }
  const onReview = async (event: Event) => {
    event.preventDefault()
    setFailure(undefined)
    setProblems(found)
    if (Object.keys(found).length > 0) return
    const outcome = await act(checkDelegate(json))
    if (outcome.ok) setAsked(true)
    else refused(outcome.failure)
  }
  const onDelegate = async () => {
    const outcome = await act(delegate(relayer.id, json, key))
    refreshAll(relayer.id)
    if (outcome.ok) {
      renewKey(crypto.randomUUID())
      setEntered({})
      accepted(outcome.value)
    } else if (outcome.failure.status === 400) {
      // Its problems are shown at the fields.
      setAsked(false)
      refused(outcome.failure)
    }
    return outcome
  }
  return (
    <form class="pad one" onSubmit={onReview} aria-label={isChange ? text.change : text.set}>
      <h3>{isChange ? text.change : text.set}</h3>
      {isAsked && (
        <Confirm
          question={{
            title: text.setTitle,
            text: (
              <>
                <About relayer={relayer}>
                  <Code text={String(json["address"])} full />
                </About>
                <p>{text.setText}</p>
                {json["accept_proxy"] === true && <p>{text.proxy}</p>}
              </>
            ),
            action: text.confirm,
            isDangerous: true,
            act: onDelegate
          }}
          onClose={() => setAsked(false)}
        />
      )}
      <SchemaForm form={form} native={native} entered={entered} problems={problems} onChange={setEntered} />
      {failure !== undefined && Object.keys(problems).length === 0 && <Failed failure={failure} />}
      <div class="do">
        <Writes>
          <button class="btn p" type="submit">
            {text.setAction}
          </button>
        </Writes>
      </div>
    </form>
  )
}

/** `address`: undefined if the service has recorded none. The account may still delegate: somebody else may have set it. */
const End = ({ relayer, address, accepted }: ChangeProps & { readonly address: string | undefined }) => {
  const [dialog, ask] = useQuestion()
  const question = {
    title: text.endTitle,
    text: (
      <>
        <About relayer={relayer}>{address === undefined ? text.none : <Code text={address} full />}</About>
        {address === undefined && <p>{text.endUnknown}</p>}
        <p>{text.endText}</p>
      </>
    ),
    action: text.endAction,
    isDangerous: true,
    act: async () => {
      const outcome = await act(undelegate(relayer.id))
      refreshAll(relayer.id)
      if (outcome.ok) accepted(outcome.value)
      return outcome
    }
  }
  return (
    <div class="pad">
      {address === undefined && <p class="mut">{text.endUnknown}</p>}
      <Writes>
        <button class="btn d" type="button" onClick={() => ask(question)}>
          {text.end}
        </button>
      </Writes>
      {dialog}
    </div>
  )
}

/** Why nothing can be changed. Undefined: it can. */
const obstacleOf = (relayer: Relayer, { open_transaction_id: open }: Delegation): string | undefined => {
  if (relayer.paused) return text.isPaused
  return open === undefined ? undefined : text.isOpen
}

const Changes = ({ relayer, found }: { readonly relayer: Relayer; readonly found: Delegation }) => {
  const session = useAtom(sessionState)
  const [change, setChange] = useState<Accepted>()
  if (!may(session, "relayers:write")) return <MissingScope scope="relayers:write" />
  if (!mayDelegate(session)) return <p class="pad mut">{text.limited}</p>
  const obstacle = obstacleOf(relayer, found)
  return (
    <>
      {change !== undefined && <AcceptedChange id={relayer.id} change={change} />}
      {obstacle !== undefined && <p class="pad mut">{obstacle}</p>}
      {obstacle === undefined && (
        <>
          <Set relayer={relayer} isChange={found.address !== undefined} accepted={setChange} />
          <End relayer={relayer} address={found.address} accepted={setChange} />
        </>
      )}
    </>
  )
}

export const RelayerDelegation = ({ details: { value: relayer } }: { readonly details: Versioned<Relayer> }) => {
  const query = useQuery(delegationOf(relayer.id), refreshed)
  useEventsAbout(
    ({ type, resource_id }) => type === "relayer.delegate_changed" && resource_id === relayer.id,
    query.refresh
  )
  return (
    <Block title={text.title} query={query} rows={4}>
      {(found) => (
        <>
          <p class="pad mut">{text.sub}</p>
          <State relayer={relayer} found={found} />
          <Changes relayer={relayer} found={found} />
        </>
      )}
    </Block>
  )
}
