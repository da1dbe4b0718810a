import { serves } from '../../outbox/diagnostics/relays.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import type { CommandIo } from '../io.ts'

/** Warns about a destination that is probably misspelled: a pause of it would look like success, and a retry as if nothing had to be sent. */
export async function warnIfUnknown(store: OutboxStore, destination: string, io: CommandIo): Promise<void> {
	const [{ destinations }, relays] = await Promise.all([store.stats(1, destination), store.relays()])
	const [counts] = destinations
	const hasMessages = [counts?.due, counts?.scheduled, counts?.inFlight, counts?.dead].some(
		(one) => (one?.count ?? 0) > 0,
	)
	if (hasMessages || relays.some((relay) => !relay.destinations.includes('*') && serves(relay, destination)))
		return
	io.warn(`No message and no relay names destination "${destination}". Check its spelling.`)
}
