/** What is used here of opossum, which brings no types; those of DefinitelyTyped bring a second @types/node with them. */
declare module 'opossum' {
	interface Options {
		timeout?: number | false
		resetTimeout?: number
	}

	export default class CircuitBreaker<T> {
		constructor(action: () => Promise<T>, options?: Options)
		fire(): Promise<T>
		shutdown(): void
		readonly opened: boolean
	}
}
