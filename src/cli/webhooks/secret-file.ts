/**
 * The file of a secret. Arguments are visible to every user of the machine, and what is printed ends in logs, so a
 * secret goes through a file only: one that exists is read, otherwise a new secret is written into a new file.
 */
import { writeFile } from 'node:fs/promises'
import { createWebhookSecret } from '../../webhooks/create-secrets.ts'
import { CliError, errorCode, errorMessage, usageError } from '../errors.ts'
import { text } from '../option-tables.ts'
import { contentLines, readSecretFile } from '../user-files.ts'

export const SECRET_OPTION = {
	secretFile: text(
		'FILE',
		'file with the secret in its first line; a new secret is written if it does not exist; required',
	),
}

export interface FileSecret {
	readonly secret: string
	/** True if the secret and its file are new. */
	readonly isNew: boolean
	readonly file: string
}

/** Owner only, from the first moment. */
const MODE = 0o600

/** Reads the secret, or writes a new one. A file that exists is never changed. */
export async function readOrCreateSecret(
	file: string | undefined,
	warn: (text: string) => void,
): Promise<FileSecret> {
	if (file === undefined)
		throw usageError('--secret-file is required: the file of the secret, which is never printed.')
	const secret = createWebhookSecret()
	try {
		await writeFile(file, `${secret}\n`, { mode: MODE, flag: 'wx' })
		return { secret, isNew: true, file }
	} catch (cause) {
		const code = errorCode(cause)
		if (code === 'ENOENT' || code === 'ENOTDIR')
			throw new CliError('notFound', `Cannot write ${file}: its folder does not exist.`, { cause })
		if (code !== 'EEXIST')
			throw new CliError('failure', `Cannot write ${file}: ${errorMessage(cause)}`, { cause })
	}
	const [found] = contentLines(readSecretFile(file, warn))
	if (found === undefined)
		throw usageError(`${file} is empty: its first line must be the secret.`, {
			hint: 'Name a file that does not exist, and a new secret is written into it.',
		})
	return { secret: found, isNew: false, file }
}
