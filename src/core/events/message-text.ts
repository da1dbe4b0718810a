/** Longer messages are truncated. */
export const MAX_MESSAGE_LENGTH = 1_000

/** A URL from its `://` on. It is matched as a whole, so that the time is linear in the length of the text. */
const URL_REST = /:\/\/[^\s"'<>]+/g

/** Returns a text whose URLs have no credentials, no query and no fragment, because these may be secrets. */
export const reduceUrls = (text: string): string =>
	text.replace(URL_REST, (rest) => rest.replace(/[?#].*/, '').replace(/^:\/\/[^/]*@/, '://'))

/** Returns a message for events and `explain`: without the secrets of its URLs, and not longer than a log line should be. */
export function toMessageText(message: string): string {
	const text = reduceUrls(message)
	return text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}...` : text
}
