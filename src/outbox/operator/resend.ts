/** Delivers a sent message again, from the history. */
import { checkNames, invalidArgument } from '../../core/options/schema.ts'
import { isMessageId } from '../message/filter.ts'
import type { OutboxStore } from '../store/store.ts'
import { OPERATOR_SCHEMA, type OperatorOptions, readOperator } from './operator.ts'
import { notSentError } from './require-status.ts'

interface History {
	readonly store: OutboxStore
	readonly historyForMs: number
}

/**
 * Rejects if the history does not have the message. An outbox without history looks too: the history is
 * written by the outbox of the relay, which may be another one.
 */
export async function resendMessage(
	{ store, historyForMs }: History,
	id: string,
	options: OperatorOptions,
): Promise<void> {
	if (!isMessageId(id)) invalidArgument('id', id, 'a message id, which is a UUID')
	checkNames(options, OPERATOR_SCHEMA, 'resend')
	const operator = readOperator(options)
	const messageId = id.toLowerCase()
	const [resent] = await store.resend({ ids: [messageId] }, 1, operator)
	if (resent === undefined) throw await notSentError(store, messageId, historyForMs)
}
