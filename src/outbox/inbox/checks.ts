/** Checks the arguments of `once` before anything is written: an error of the database would abort the user's transaction. */
import { checkNames, invalidArgument, invalidOption } from '../../core/options/schema.ts'
import { POSTGRES_TX, type Queryable, SQLITE_TX } from '../../sql/clients.ts'
import { isOrmTransaction } from '../../sql/orms/orm-transaction.ts'
import { recognizeOrm } from '../../sql/orms/recognize.ts'
import { isPool, transactionState } from '../../sql/transaction-state.ts'
import { isStorable, KEY_BYTES } from '../enqueue/fields.ts'
import { show } from '../message/errors.ts'
import { InboxTransactionError } from './errors.ts'
import type { InboxStore } from './store/store.ts'

/** Returns the id if it can be stored. */
export function checkMessageId(messageId: unknown): string {
	if (typeof messageId !== 'string' || messageId === '')
		invalidArgument(
			'messageId',
			messageId,
			'a non-empty string, such as the value of the Idempotency-Key header',
		)
	if (!isStorable(messageId))
		invalidArgument('messageId', messageId, 'a string without NUL characters and lone surrogates')
	if (Buffer.byteLength(messageId) > KEY_BYTES)
		invalidArgument('messageId', messageId, `at most ${KEY_BYTES} bytes of UTF-8`)
	return messageId
}

const EXPECTED: Readonly<Record<InboxStore['kind'], string>> = { postgres: POSTGRES_TX, sqlite: SQLITE_TX }

/** Returns the `tx` of the options. */
export function checkTransaction(store: InboxStore, options: unknown): Queryable {
	if (typeof options !== 'object' || options === null || 'query' in options || 'prepare' in options)
		invalidOption('options', options, 'an object such as { tx: client }')
	checkNames(options, { tx: 'any' }, 'inbox.once')
	const { tx } = options as { readonly tx?: Queryable }
	if (tx === undefined)
		throw outside(
			'inbox.once was called without tx. Pass the client that has your transaction: inbox.once(messageId, { tx: client }, fn)',
		)
	const isObject = (typeof tx === 'object' || typeof tx === 'function') && tx !== null
	if (!isObject || !store.accepts(tx)) throw wrongDatabase(store.kind, tx)
	if (isPool(tx) && transactionState(tx) === 'none')
		throw outside(
			'tx is a pool, which has no transaction because each query may use another connection. Pass one client of it: const client = await pool.connect()',
		)
	return tx
}

/** Names the function for an object of an ORM. */
export function wrongDatabase(kind: InboxStore['kind'], tx: unknown, cause?: unknown): InboxTransactionError {
	const orm = recognizeOrm(tx, 'yaoki/outbox', kind)
	const got = isOrmTransaction(tx) ? tx.description : show(tx)
	const problem = orm
		? `got ${got} of ${orm.name}. Pass ${orm.pass}`
		: `expected ${EXPECTED[kind]}, got ${got}`
	const text = `Invalid tx for an inbox with the store ${kind}: ${problem}`
	return new InboxTransactionError('wrong-database', text, cause === undefined ? undefined : { cause })
}

const outside = (text: string): InboxTransactionError =>
	new InboxTransactionError('outside-transaction', text)
