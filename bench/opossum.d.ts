/** The used part of opossum, which has no types. DefinitelyTyped's would install a second @types/node. */
declare module 'opossum' {
	interface Options {
		timeout?: number | false
		resetTimeout?: number
		rollingCountTimeout?: number
		rollingPercentilesEnabled?: boolean
	}

	export default class CircuitBreaker<T> {
		constructor(action: () => Promise<T>, options?: Options)
		fire(): Promise<T>
		shutdown(): void
		readonly opened: boolean
	}
}
