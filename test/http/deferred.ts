/** A promise that the test resolves: servers and tests wait for events, never for a duration. */
export interface Deferred<T = void> {
	readonly promise: Promise<T>
	resolve(value: T): void
}

export function deferred<T = void>(): Deferred<T> {
	let resolve: (value: T) => void = () => {}
	const promise = new Promise<T>((settle) => {
		resolve = settle
	})
	return { promise, resolve: (value) => resolve(value) }
}
