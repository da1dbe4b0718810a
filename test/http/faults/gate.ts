/** A promise that the test resolves. The server waits for events of the test, never for a duration. */
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
