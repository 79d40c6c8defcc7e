// The environment variables that a configuration may read: those that match a pattern of `--env`.

/** A pull request must not reach the other secrets of a CI job. */
const defaultPattern = "RELAYER_*"

type Found = { readonly value: string } | { readonly problem: string }

export type Variables = (name: string) => Found

const matches = (pattern: string, name: string): boolean => {
  const parts = pattern.split("*").map((part) => part.replace(/[^A-Za-z0-9_]/g, "\\$&"))
  return new RegExp(`^${parts.join("[A-Za-z0-9_]*")}$`, "u").test(name)
}

/** `files`: variables of files that the user has named, all of which may be read. The answer about a name that no pattern allows does not say whether the variable is set. */
export const reader = (
  environment: Readonly<Record<string, string | undefined>>,
  patterns: ReadonlyArray<string> = [],
  files: Readonly<Record<string, string | undefined>> = {}
): Variables => {
  const allowed = [defaultPattern, ...patterns]
  const refusal = `only variables ${allowed.join(", ")} are read; allow it with --env`
  return (name) => {
    const inFile = Object.hasOwn(files, name) ? files[name] : undefined
    if (inFile !== undefined && inFile !== "") return { value: inFile }
    if (!allowed.some((pattern) => matches(pattern, name))) return { problem: refusal }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    return value === undefined || value === "" ? { problem: `the environment variable ${name} is not set` } : { value }
  }
}
