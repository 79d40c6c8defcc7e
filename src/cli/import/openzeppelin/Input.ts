// What the parts of an import of OpenZeppelin Relayer share.
import type * as Imported from "../Imported.ts"

export interface Options {
  /** The working directory of the old service, which its paths are relative to. */
  readonly folder: string
  /** Folder of the written file, which its references to files are relative to. Absent: the same folder. */
  readonly outFolder?: string
  readonly allNetworks: boolean
  readonly keepPausedState: boolean
  /** The lines of its environment file. */
  readonly dotEnv?: Readonly<Record<string, string | undefined>>
}

export interface Input extends Imported.Context, Options {
  /** The names of all variables that the configuration reads, also for what is left out. */
  readonly named: ReadonlySet<string>
  /** The first signer of each keystore, by its path. */
  readonly keystores: Map<string, string>
}
