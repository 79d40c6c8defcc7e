// What to do in a service without relayers, until its first one exists.
import { relayerPage } from "../../data/Relayers.ts"
import { isLimited, may, sessionState } from "../../data/Session.ts"
import { signerList } from "../../data/Signers.ts"
import { words } from "../../words.ts"
import { useAtom, useQuery } from "../../parts/useAtom.ts"

const text = words.overview.first

const Steps = () => {
  const session = useAtom(sessionState)
  const hasSigner = (useQuery(signerList).value?.length ?? 0) > 0
  return (
    <section class="card" aria-label={text.title}>
      <h2>{text.title}</h2>
      <ol class="first">
        <li>
          <p>
            {text.signer} {hasSigner && <b>{text.done}</b>}
          </p>
          {!hasSigner && may(session, "signers:write") && (
            <a class="btn p" href="/console/new/signer">
              {words.create.signer}
            </a>
          )}
        </li>
        <li>
          <p>{text.relayer}</p>
          <div class="do">
            <a class={hasSigner ? "btn p" : "btn"} href="/console/new/relayer">
              {words.create.relayer}
            </a>
            {may(session, "networks:write") && !isLimited(session) && (
              <a class="btn" href="/console/new/network">
                {words.create.network}
              </a>
            )}
          </div>
        </li>
        <li>
          <p>{text.fund}</p>
        </li>
        <li>
          <p>{text.send}</p>
        </li>
      </ol>
    </section>
  )
}

/** The count is one that the overview asks for anyway. */
export const FirstSteps = () => (useQuery(relayerPage("per_page=1")).value?.total === 0 ? <Steps /> : null)
