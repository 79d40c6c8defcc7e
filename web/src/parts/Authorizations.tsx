// Signed authorizations (EIP-7702) before they are sent: what each says, beside the field and in the second look.
import { authorizationsOf, delegatesIn, noDelegate } from "../data/Authorizations.ts"
import type { SignedDelegate } from "../data/Authorizations.ts"
import { words } from "../words.ts"
import { Code } from "./Copy.tsx"
import { Tag, mark } from "./Tag.tsx"

const text = words.authorizations

/** An authorization of chain id 0 can be used on every chain by everybody who sees it. */
export const SignedAuthorization = ({ chainId, address, nonce }: SignedDelegate) => (
  <>
    {address === noDelegate ? (
      text.ends
    ) : (
      <>
        {text.runs} <Code text={address} full />
      </>
    )}{" "}
    · {text.nonce} {nonce} · {chainId === 0 ? <Tag {...mark("warn", text.everyChain)} /> : text.chain(chainId)}
  </>
)

/** What was understood of a pasted text. What was not is a problem of the field. */
export const ReadAuthorizations = ({ entered }: { readonly entered: string }) => {
  const read = entered.trim() === "" ? undefined : authorizationsOf(entered)
  if (read === undefined || "problem" in read) return null
  return (
    <ol class="entries">
      {delegatesIn(read.value).map((one, index) => (
        <li key={index}>
          {one === undefined ? <span class="mut">{text.unread}</span> : <SignedAuthorization {...one} />}
        </li>
      ))}
    </ol>
  )
}
