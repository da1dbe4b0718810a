import type { Command } from 'fast-check'

/** One step of a random history: it changes the model and the real object alike and compares them. */
export const command = <Model extends object, Real>(
	label: string,
	run: (model: Model, real: Real) => void,
): Command<Model, Real> => ({ check: () => true, run, toString: () => label })

/** The number and length of the random histories. fast-check prints the seed of one that fails. */
export const HISTORIES = { numRuns: 1_000 }
export const LENGTH = { maxCommands: 60, size: 'max' } as const
