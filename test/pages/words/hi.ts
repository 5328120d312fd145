// Lists the one word for each thing in Hindi.
import { whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'एडमिन', not: /प्रशासक|व्यवस्थापक/ },
    { use: 'ऐप्लिकेशन', not: /एप्लिकेशन|एप्लीकेशन|अनुप्रयोग/ },
    { use: 'ईमेल', not: /ई-मेल|इमेल/ },
    { use: 'पासकी', not: /पास-की|पासवर्ड कुंजी/ },
    { use: 'साइन इन करें', not: /लॉग ?इन|लॉगिन|लॉग ?आउट/ },
    { use: 'खाता', not: /अकाउंट|अकाउन्ट/ },
    { use: 'दो चरणों में पुष्टि', not: /दो-कारक|टू-फ़ैक्टर/ },
    { use: 'रिकवरी कोड', not: /बैकअप कोड/ },
    { use: 'आईपी पता', not: /IP पता/ },
    { use: 'आप', not: whole('तुम|तू|तुम्हारा|तेरा') },
  ],
  same: [],
};
