/** Where a server process ends, in the order in which a request gets there. */
export const CRASH_POINTS = [
	...['before the claim', 'before the effect', 'before the step is stored', 'after the step is stored'],
	...['before an effect without a key', 'before its step is stored', 'after its step is stored'],
	...['in the middle of the response', 'before the completion', 'after the completion'],
] as const

export type CrashPoint = (typeof CRASH_POINTS)[number]
