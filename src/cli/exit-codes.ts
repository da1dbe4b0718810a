/**
 * How a run of the command line ends, as one table. Scripts branch on these numbers, so they are stable, and help prints
 * them from here. Commands name the kind and never write a number.
 */

/** How a command ended. */
export type ExitKind = 'ok' | 'failure' | 'usage' | 'notFound' | 'checkFailed' | 'unreachable' | 'interrupted'

export const EXIT_CODES: Readonly<Record<ExitKind, readonly [code: number, means: string]>> = {
	ok: [0, 'done'],
	failure: [1, 'failed'],
	usage: [2, 'called in a way that it does not understand'],
	notFound: [3, 'what was asked for is not there'],
	checkFailed: [4, 'a check was made and did not hold'],
	unreachable: [5, 'something that it depends on could not be reached'],
	// What a shell answers for a program that SIGINT ended: 128 and the number of the signal.
	interrupted: [130, 'interrupted by Ctrl-C'],
}

export const exitCode = (kind: ExitKind): number => EXIT_CODES[kind][0]
