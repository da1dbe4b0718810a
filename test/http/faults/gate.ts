/** A promise that the test opens. What the server waits for is an event of the test, never a length of time. */
export interface Gate {
	readonly opened: Promise<void>
	open(): void
}

export function gate(): Gate {
	let open = () => {}
	const opened = new Promise<void>((resolve) => {
		open = resolve
	})
	return { opened, open: () => open() }
}
