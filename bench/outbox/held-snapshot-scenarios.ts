/** What both processes of the benchmark of held snapshots know. */
export const DEAD_ROWS: readonly number[] = [120_000, 1_000_000]
export const KEYS: readonly number[] = [1, 20, 2_000]

export const scenario = (dead: number, keys: number, isHeld: boolean): string =>
	`${dead.toLocaleString('en-US')} sent, ${keys.toLocaleString('en-US')} ${keys === 1 ? 'key' : 'keys'}, ${isHeld ? 'held' : 'not held'}`
