/** A promise that a test resolves or waits for. */
export interface Gate<T = void> {
	readonly passed: Promise<T>
	open(value: T): void
}

export function gate<T = void>(): Gate<T> {
	let open: (value: T) => void = () => undefined
	const passed = new Promise<T>((resolve) => {
		open = resolve
	})
	return { passed, open }
}
