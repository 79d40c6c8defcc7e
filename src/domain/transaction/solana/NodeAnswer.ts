// What a node answers to a signed transaction. `SendAnswer.ts` says what it means.

export type NodeAnswer =
  | { readonly _tag: "Signature" }
  | { readonly _tag: "RpcError"; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly _tag: "NoAnswer" }
