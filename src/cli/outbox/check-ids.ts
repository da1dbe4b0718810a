/** Looks up all given message ids before a command changes anything: one misspelled id of five must leave all five unchanged. */
import type { Outbox } from '../../outbox/index.ts'
import { isMessageId } from '../../outbox/message/filter.ts'
import type { MessageRecord, MessageStatus } from '../../outbox/message/message.ts'
import { CliError } from '../errors.ts'

/** Returns the message with this id. Throws if it does not exist. */
export async function requireMessage(outbox: Outbox, id: string): Promise<MessageRecord> {
	const message = isMessageId(id) ? await outbox.find(id.toLowerCase()) : undefined
	if (message) return message
	throw new CliError('notFound', `Message "${id}" does not exist.`, {
		hint: 'Sent messages are deleted unless history is kept. List the others with yaoki outbox list.',
	})
}

/** Returns the messages with these ids. Throws if one does not exist or has another status. */
export async function requireMessages(
	outbox: Outbox,
	ids: readonly string[],
	status: MessageStatus,
): Promise<readonly MessageRecord[]> {
	const messages: MessageRecord[] = []
	for (const id of ids) {
		const message = await requireMessage(outbox, id)
		if (message.status !== status)
			throw new CliError('notFound', `Message ${id} is ${message.status}, expected ${status}.`)
		messages.push(message)
	}
	return messages
}
