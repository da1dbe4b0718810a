/** Quotes a text for bash and zsh. */
export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Quotes a text for fish, which knows two escapes inside single quotes. */
export const quoteFish = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
