/** What a relay and an outbox of one process say to each other. */

/** A relay of this process, as its outbox sees it. */
export interface LocalRelay {
	/** Does it send messages to this destination? */
	serves(destination: string): boolean
	/** There may be something new. */
	wake(): void
	/** The database is about to be closed. */
	stop(): Promise<void>
}
