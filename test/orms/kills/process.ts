/** What the three processes get from the test, and how they say that they run. */
export interface ProcessInput {
	/** The database of the process. */
	readonly url: string
	/** The port of a server. */
	readonly port: number
	/** Where the relay sends messages. */
	readonly receiverPort: number
}

export const readInput = (): ProcessInput => JSON.parse(process.argv[2] ?? '{}')

export const reportRunning = (): void => {
	process.send?.('running')
}

// The test has ended.
process.once('disconnect', () => process.exit())
