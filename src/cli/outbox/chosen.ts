/**
 * The messages that a command was told by their ids, looked at before anything is done: of five ids with a typing error in the last one,
 * none is touched.
 */
import type { Outbox } from '../../outbox/index.ts'
import { isMessageId } from '../../outbox/message/filter.ts'
import type { MessageRecord, MessageStatus } from '../../outbox/message/message.ts'
import { CliError } from '../errors.ts'

/** The message with this id, or the error that there is none. */
export async function known(outbox: Outbox, id: string): Promise<MessageRecord> {
	const message = isMessageId(id) ? await outbox.find(id.toLowerCase()) : undefined
	if (message) return message
	throw new CliError('notFound', `there is no message '${id}'`, {
		hint: 'What was sent is gone, unless history is kept; yaoki outbox list shows what is there.',
	})
}

const CALLED: Readonly<Record<MessageStatus, string>> = {
	pending: 'waits in the queue',
	processing: 'is in flight',
	sent: 'was sent',
	dead: 'is a dead letter',
}

/** All of these, which are there and in this state. */
export async function checkChosen(
	outbox: Outbox,
	ids: readonly string[],
	needed: MessageStatus,
): Promise<readonly MessageRecord[]> {
	const chosen: MessageRecord[] = []
	for (const id of ids) {
		const message = await known(outbox, id)
		const { status } = message
		if (status !== needed)
			throw new CliError('notFound', `${id} ${CALLED[status]}; takes one that ${CALLED[needed]}`)
		chosen.push(message)
	}
	return chosen
}
